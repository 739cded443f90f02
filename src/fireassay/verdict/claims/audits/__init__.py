"""What is wrong with a published claim?"""

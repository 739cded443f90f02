"""What is sent when?"""

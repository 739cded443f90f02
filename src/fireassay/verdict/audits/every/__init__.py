"""What can be wrong with any record?"""

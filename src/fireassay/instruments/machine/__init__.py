"""What did the machine do while a launch ran?"""

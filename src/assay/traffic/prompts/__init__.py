"""What does each request ask?"""

"""What must an audit declare?"""

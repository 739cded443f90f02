"""What do serving engines say of themselves?"""

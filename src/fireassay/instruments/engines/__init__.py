"""What do serving engines report about themselves?"""

"""What must a gate declare?"""

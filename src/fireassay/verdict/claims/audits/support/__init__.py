"""What must an audit of claims declare?"""

"""Between which bounds does a quantity lie?"""

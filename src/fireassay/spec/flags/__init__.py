"""Which flags set which fields?"""

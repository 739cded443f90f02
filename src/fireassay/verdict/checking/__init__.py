"""May this build go on?"""

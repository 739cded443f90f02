"""What do the imports of several tools share?"""

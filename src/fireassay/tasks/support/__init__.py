"""What do several layouts of benchmark files share?"""

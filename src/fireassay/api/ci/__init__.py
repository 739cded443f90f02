"""How does the verdict of a gate reach a pull request and stay with its repository?"""

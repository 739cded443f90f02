"""What can make an evaluation inadmissible or doubtful?"""

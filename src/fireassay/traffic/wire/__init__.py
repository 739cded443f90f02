"""How are bytes sent, received and timed?"""

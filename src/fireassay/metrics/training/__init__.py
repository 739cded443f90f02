"""What does training cost in time, memory, communication and faults, and does distribution keep it correct?"""

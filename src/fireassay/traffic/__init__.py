"""What makes up a load on serving engines: arrivals, prompts, the client, replies, backends and tasks?"""

"""How is one launch of a training or of collectives made and monitored?"""

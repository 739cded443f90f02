"""What does untrusted code answer, and what may it do?  Its verdict is computed outside of its process."""

"""The parts of a load on serving engines: arrivals, scenarios, prompts, the client, what the answers say, backends and tasks."""

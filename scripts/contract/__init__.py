"""Makes vtax/agent_api.py and docs/agent-api.md of agent/schema.json, the contract that `vtax-agent schema` prints."""

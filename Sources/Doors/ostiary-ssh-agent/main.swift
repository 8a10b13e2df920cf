import SSHAgentProgram

AgentProgram.main()

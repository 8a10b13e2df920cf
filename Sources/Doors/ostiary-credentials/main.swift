import UnitCredentialsProgram

CredentialsProgram.main()

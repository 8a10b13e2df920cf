import AgePluginProgram

AgeProgram.main()

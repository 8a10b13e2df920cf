import PasskeyDeviceProgram

HIDProgram.main()

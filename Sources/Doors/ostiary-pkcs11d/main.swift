import PKCS11DoorProgram

TokenProgram.main()

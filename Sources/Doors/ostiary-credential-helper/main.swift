import CredentialHelpers

CredentialHelper.main()

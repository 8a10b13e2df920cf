// Built before everything else, so that the modules are there when other packages ask for them.
@_exported import CryptoKit
@_exported import LocalAuthentication
@_exported import Security

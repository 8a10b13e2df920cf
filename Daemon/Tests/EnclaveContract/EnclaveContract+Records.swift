import Enclave
import Foundation
import Testing

extension EnclaveContract {
    private static let message = Data("row of a store".utf8)

    static let recordChecks = [
        Check("an authentication code has 32 bytes, is the same after a restart, and is valid") { contract in
            let code = try contract.open().authenticationCode(for: message, label: "row")
            #expect(code.count == 32)
            let enclave = try contract.open()
            #expect(try enclave.authenticationCode(for: message, label: "row") == code)
            #expect(try enclave.isValidAuthenticationCode(code, for: message, label: "row"))
        },
        Check("an authentication code is valid for nothing else") { contract in
            let enclave = try contract.open()
            let code = try enclave.authenticationCode(for: message, label: "row")
            #expect(try !enclave.isValidAuthenticationCode(code, for: message + [0], label: "row"))
            #expect(try !enclave.isValidAuthenticationCode(code, for: Data(), label: "row"))
            #expect(try !enclave.isValidAuthenticationCode(code, for: message, label: "public half"))
            #expect(try !contract.openOther().isValidAuthenticationCode(code, for: message, label: "row"))
        },
        Check("a damaged authentication code is not valid") { contract in
            let enclave = try contract.open()
            let code = try enclave.authenticationCode(for: message, label: "row")
            for (what, bytes) in damaged(code) {
                #expect(try !enclave.isValidAuthenticationCode(bytes, for: message, label: "row"), "\(what)")
            }
        },
        Check("label and message cannot run into each other") { contract in
            let enclave = try contract.open()
            #expect(
                try enclave.authenticationCode(for: Data("bc".utf8), label: "a")
                    != enclave.authenticationCode(for: Data("c".utf8), label: "ab"))
        },
        Check("a digest is the same after a restart, and another for each label and device") { contract in
            let enclave = try contract.open()
            let digest = try enclave.digest(message, label: "account")
            #expect(digest.count == 32)
            #expect(try contract.open().digest(message, label: "account") == digest)
            #expect(try enclave.digest(message, label: "service") != digest)
            #expect(try contract.openOther().digest(message, label: "account") != digest)
        },
        Check("a lookup digest is no authentication code") { contract in
            let enclave = try contract.open()
            let digest = try enclave.digest(message, label: "row")
            #expect(try !enclave.isValidAuthenticationCode(digest, for: message, label: "row"))
        },
        Check("a protected record comes back after a restart and does not show its text") { contract in
            for record in [message, Data()] {
                let blob = try contract.open().protect(record, label: "attributes")
                #expect(try contract.open().unprotect(blob, label: "attributes") == record)
            }
            let blob = try contract.open().protect(message, label: "attributes")
            #expect(blob.range(of: message) == nil)
        },
        Check("a protected record is unreadable under another label or on another device") { contract in
            let enclave = try contract.open()
            let blob = try enclave.protect(message, label: "attributes")
            expect(.unreadable) { _ = try enclave.unprotect(blob, label: "attribute") }
            expect(.unreadable) { _ = try contract.openOther().unprotect(blob, label: "attributes") }
        },
        Check("a damaged record is never given back") { contract in
            let enclave = try contract.open()
            let blob = try enclave.protect(message, label: "attributes")
            for (what, bytes) in damaged(blob) {
                #expect(throws: EnclaveError.self, "\(what)") { _ = try enclave.unprotect(bytes, label: "attributes") }
            }
        },
        Check("neither a key nor a sealed secret opens as a record") { contract in
            let enclave = try contract.open()
            let key = try enclave.makeKey(authorization: secret(1), binding: binding)
            let sealed = try enclave.seal(secret(7), authorization: none, context: Data("attributes".utf8))
            for blob in [key.blob, sealed] {
                expect(.unreadable) { _ = try enclave.unprotect(blob, label: "attributes") }
            }
        },
    ]
}

import CanonicalEncoding

/// An answer of `ostiary-fido`: one for each request but ``KeyRequest/cancel``.
package enum KeyReport: Equatable, Sendable {
    case description(KeyDescription)
    case touched
    case created(CreatedKeyCredential)
    /// The frame's secret has the outputs of hmac-secret, one assertion's behind the other's.
    case asserted([KeyAssertionResult])
    /// A PIN was set or changed.
    case done
    case failed(KeyFailure)

    private enum Kind: UInt8 {
        case description = 1, touched, created, asserted, done, failed
    }

    package var bytes: [UInt8] {
        var writer = CanonicalWriter()
        switch self {
        case .description(let description):
            writer.write(Kind.description.rawValue)
            description.write(to: &writer)
        case .touched: writer.write(Kind.touched.rawValue)
        case .created(let credential):
            writer.write(Kind.created.rawValue)
            credential.write(to: &writer)
        case .asserted(let results):
            writer.write(Kind.asserted.rawValue)
            writer.write(UInt8(results.count))
            for result in results { result.write(to: &writer) }
        case .done: writer.write(Kind.done.rawValue)
        case .failed(let failure):
            writer.write(Kind.failed.rawValue)
            writer.write(UInt32(bitPattern: failure.code))
            writer.write(flag: failure.isGone)
        }
        return writer.bytes
    }

    /// Nil for bytes that ``bytes`` never has.
    package init?(decoding bytes: [UInt8]) {
        var reader = CanonicalReader(bytes)
        do throws(CanonicalEncodingError) {
            guard let kind = Kind(rawValue: try reader.read(UInt8.self)) else { return nil }
            switch kind {
            case .description: self = .description(try KeyDescription(from: &reader))
            case .touched: self = .touched
            case .created: self = .created(try CreatedKeyCredential(from: &reader))
            case .asserted:
                let count = Int(try reader.read(UInt8.self))
                guard (1...SecurityKeyLimits.accountCount).contains(count) else { return nil }
                var results: [KeyAssertionResult] = []
                for _ in 0..<count { results.append(try KeyAssertionResult(from: &reader)) }
                self = .asserted(results)
            case .done: self = .done
            case .failed:
                self = .failed(
                    KeyFailure(
                        code: Int32(bitPattern: try reader.read(UInt32.self)), isGone: try reader.readFlag()))
            }
            try reader.finish()
        } catch { return nil }
    }
}

/// Why a request failed.
package struct KeyFailure: Equatable, Sendable {
    /// A CTAP status, or a negative code of libfido2 (fido/err.h).
    package var code: Int32
    /// The key was unplugged.
    package var isGone: Bool

    package init(code: Int32, isGone: Bool = false) { (self.code, self.isGone) = (code, isGone) }
}

/// A new credential, as the key reported it.
package struct CreatedKeyCredential: Equatable, Sendable {
    package var identifier: [UInt8]
    /// The attestation statement's format.
    package var format: String
    /// The attestation statement in CBOR.
    package var statement: [UInt8]
    package var authenticatorData: [UInt8]
    package var hasLargeBlobKey: Bool

    package init(
        identifier: [UInt8], format: String, statement: [UInt8], authenticatorData: [UInt8], hasLargeBlobKey: Bool
    ) {
        self.identifier = identifier
        self.format = format
        self.statement = statement
        self.authenticatorData = authenticatorData
        self.hasLargeBlobKey = hasLargeBlobKey
    }

    func write(to writer: inout CanonicalWriter) {
        writer.write(identifier, length: UInt16.self)
        writer.write(format.utf8, length: UInt16.self)
        writer.write(statement, length: UInt16.self)
        writer.write(authenticatorData, length: UInt16.self)
        writer.write(flag: hasLargeBlobKey)
    }

    init(from reader: inout CanonicalReader) throws(CanonicalEncodingError) {
        self.init(
            identifier: try reader.readCredential(), format: try reader.readName(),
            statement: try reader.read(length: UInt16.self), authenticatorData: try reader.read(length: UInt16.self),
            hasLargeBlobKey: try reader.readFlag())
    }
}

/// A signature, as the key reported it.
package struct KeyAssertionResult: Equatable, Sendable {
    package var credentialIdentifier: [UInt8]
    package var authenticatorData: [UInt8]
    package var signature: [UInt8]
    /// Empty for none.
    package var userHandle: [UInt8]
    package var userName: String
    package var userDisplayName: String
    /// Whether it was found under the request's other name.
    package var usedAppID: Bool
    /// How many bytes of the frame's secret are its outputs: 0, 32 or 64.
    package var outputByteCount: UInt8
    package var largeBlob: LargeBlob

    package enum LargeBlob: Equatable, Sendable {
        case none, absent, written, notWritten
        case blob([UInt8])
    }

    package init(
        credentialIdentifier: [UInt8], authenticatorData: [UInt8], signature: [UInt8], userHandle: [UInt8],
        userName: String, userDisplayName: String, usedAppID: Bool, outputByteCount: UInt8, largeBlob: LargeBlob
    ) {
        self.credentialIdentifier = credentialIdentifier
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
        self.userName = userName
        self.userDisplayName = userDisplayName
        self.usedAppID = usedAppID
        self.outputByteCount = outputByteCount
        self.largeBlob = largeBlob
    }

    func write(to writer: inout CanonicalWriter) {
        writer.write(credentialIdentifier, length: UInt16.self)
        writer.write(authenticatorData, length: UInt16.self)
        writer.write(signature, length: UInt16.self)
        writer.write(userHandle, length: UInt8.self)
        writer.write(userName.utf8, length: UInt16.self)
        writer.write(userDisplayName.utf8, length: UInt16.self)
        writer.write(flag: usedAppID)
        writer.write(outputByteCount)
        switch largeBlob {
        case .none: writer.write(UInt8(0))
        case .absent: writer.write(UInt8(1))
        case .written: writer.write(UInt8(2))
        case .notWritten: writer.write(UInt8(3))
        case .blob(let blob):
            writer.write(UInt8(4))
            writer.write(blob, length: UInt16.self)
        }
    }

    init(from reader: inout CanonicalReader) throws(CanonicalEncodingError) {
        credentialIdentifier = try reader.readCredential()
        authenticatorData = try reader.read(length: UInt16.self)
        signature = try reader.read(length: UInt16.self)
        userHandle = try reader.read(length: UInt8.self)
        guard userHandle.count <= 64 else { throw .truncated }
        userName = try reader.readName()
        userDisplayName = try reader.readName()
        usedAppID = try reader.readFlag()
        outputByteCount = try reader.read(UInt8.self)
        guard [0, 32, 64].contains(outputByteCount) else { throw .unknownChoice }
        switch try reader.read(UInt8.self) {
        case 0: largeBlob = .none
        case 1: largeBlob = .absent
        case 2: largeBlob = .written
        case 3: largeBlob = .notWritten
        case 4: largeBlob = .blob(try reader.read(length: UInt16.self))
        default: throw .unknownChoice
        }
    }
}

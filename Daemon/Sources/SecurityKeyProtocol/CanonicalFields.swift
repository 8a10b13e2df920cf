import CanonicalEncoding

// Fields that several messages have.

extension CanonicalWriter {
    mutating func write(credentials: [[UInt8]]) {
        write(UInt8(credentials.count))
        for credential in credentials { write(credential, length: UInt16.self) }
    }

    mutating func write(optional value: UInt8?) {
        write(flag: value != nil)
        if let value { write(value) }
    }
}

extension CanonicalReader {
    mutating func readFlag() throws(CanonicalEncodingError) -> Bool {
        switch try read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .invalidFlag
        }
    }

    mutating func readOptional() throws(CanonicalEncodingError) -> UInt8? {
        try readFlag() ? try read(UInt8.self) : nil
    }

    mutating func readHash() throws(CanonicalEncodingError) -> [UInt8] {
        let hash = try read(length: UInt8.self)
        guard hash.count == 32 else { throw .truncated }
        return hash
    }

    /// None, one or two salts of 32 bytes.
    mutating func readSalts() throws(CanonicalEncodingError) -> [UInt8] {
        let salts = try read(length: UInt8.self)
        guard [0, 32, 64].contains(salts.count) else { throw .truncated }
        return salts
    }

    mutating func readName() throws(CanonicalEncodingError) -> String {
        let name = try readText(length: UInt16.self)
        // A zero byte would end the name early on its way to the key.
        guard name.utf8.count <= SecurityKeyLimits.textByteCount, !name.utf8.contains(0) else { throw .invalidText }
        return name
    }

    mutating func readUserHandle() throws(CanonicalEncodingError) -> [UInt8] {
        let handle = try read(length: UInt8.self)
        guard (1...64).contains(handle.count) else { throw .truncated }
        return handle
    }

    mutating func readCredential() throws(CanonicalEncodingError) -> [UInt8] {
        let identifier = try read(length: UInt16.self)
        guard (1...SecurityKeyLimits.credentialByteCount).contains(identifier.count) else { throw .truncated }
        return identifier
    }

    mutating func readCredentials() throws(CanonicalEncodingError) -> [[UInt8]] {
        let count = Int(try read(UInt8.self))
        guard count <= SecurityKeyLimits.credentialCount else { throw .unknownChoice }
        var identifiers: [[UInt8]] = []
        for _ in 0..<count { identifiers.append(try readCredential()) }
        return identifiers
    }
}

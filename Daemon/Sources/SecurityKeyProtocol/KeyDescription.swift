import CanonicalEncoding

/// A key and its features (CTAP 2.1, 6.4).
package struct KeyDescription: Equatable, Sendable {
    /// False for a key of FIDO U2F (CTAP 1) alone.
    package var isFIDO2 = false
    /// 16 bytes; zeros for a key of FIDO U2F.
    package var aaguid = [UInt8](repeating: 0, count: 16)
    /// COSE identifiers; empty when the key does not tell.
    package var algorithms: [Int32] = []
    /// `usb`, `nfc`, `ble`, `internal`, `hybrid`, as the key says.
    package var transports: [String] = []
    package var features: Features = []
    /// The tries that are left; nil when the key does not tell.
    package var pinTries: UInt8?
    package var verificationTries: UInt8?

    package struct Features: OptionSet, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let supportsPIN = Features(rawValue: 1 << 0)
        package static let hasPIN = Features(rawValue: 1 << 1)
        /// It verifies the person by itself, and somebody is enrolled.
        package static let verifiesUser = Features(rawValue: 1 << 2)
        package static let discoverable = Features(rawValue: 1 << 3)
        /// It makes and uses nothing without user verification.
        package static let alwaysVerifies = Features(rawValue: 1 << 4)
        /// It makes credentials that are not discoverable without user verification.
        package static let createsUnverified = Features(rawValue: 1 << 5)
        package static let hmacSecret = Features(rawValue: 1 << 6)
        package static let credentialProtection = Features(rawValue: 1 << 7)
        package static let largeBlobs = Features(rawValue: 1 << 8)
        /// The PIN must be changed before it counts again.
        package static let needsNewPIN = Features(rawValue: 1 << 9)
        /// It knows PIN/UV auth protocol two.
        package static let pinProtocolTwo = Features(rawValue: 1 << 10)

        static let all: UInt16 = (1 << 11) - 1
    }

    package static let knownTransports = ["usb", "nfc", "ble", "internal", "hybrid"]

    package init() {}

    func write(to writer: inout CanonicalWriter) {
        writer.write(flag: isFIDO2)
        writer.write(fixed: aaguid)
        writer.write(UInt8(algorithms.count))
        for algorithm in algorithms { writer.write(UInt32(bitPattern: algorithm)) }
        writer.write(UInt8(transports.count))
        for transport in transports { writer.write(transport.utf8, length: UInt16.self) }
        writer.write(features.rawValue)
        writer.write(optional: pinTries)
        writer.write(optional: verificationTries)
    }

    init(from reader: inout CanonicalReader) throws(CanonicalEncodingError) {
        isFIDO2 = try reader.readFlag()
        aaguid = try reader.read(fixed: 16)
        let algorithmCount = try reader.read(UInt8.self)
        for _ in 0..<algorithmCount { algorithms.append(Int32(bitPattern: try reader.read(UInt32.self))) }
        let transportCount = try reader.read(UInt8.self)
        for _ in 0..<transportCount {
            let transport = try reader.readName()
            guard Self.knownTransports.contains(transport) else { throw .unknownChoice }
            transports.append(transport)
        }
        features = Features(rawValue: try reader.read(UInt16.self))
        guard features.rawValue <= Features.all else { throw .unknownChoice }
        pinTries = try reader.readOptional()
        verificationTries = try reader.readOptional()
    }
}

package import DoorSupport
package import SecretMemory

/// A credential in git's form (git-credential(1), "INPUT/OUTPUT FORMAT"): lines `key=value`, ended by an empty line or the end.
///
/// Attributes that are not known here are passed over, as git does with those of helpers.
package struct GitCredential: Sendable {
    /// What git and the helper both know beyond the first version of the protocol.
    package struct Capabilities: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }
        /// Other credentials than passwords: `authtype` and `credential`.
        package static let authtype = Capabilities(rawValue: 1)
        /// `state[]`: what a helper said with a credential comes back with the word on it.
        package static let state = Capabilities(rawValue: 2)
    }

    package var networkProtocol: String?
    /// With its port, if one was named.
    package var host: String?
    package var path: String?
    package var username: String?
    package var password: Secret?
    /// In seconds since 1970.
    package var expiry: UInt64?
    package var refreshToken: Secret?
    /// A scheme of HTTP's authorization, such as `Bearer`, and what follows it.
    package var authtype: String?
    package var credential: Secret?
    /// It serves one use and is not to be kept.
    package var isEphemeral = false
    package var capabilities: Capabilities = []
    package var states: [String] = []

    package init() {}

    /// Reads git's lines.
    ///
    /// - Throws: `malformedInput` for a line without `=`, a NUL or a carriage return, an attribute that is given twice, a name that is no
    ///   text or too long.
    package init(parsing input: borrowing SecretBytes) throws(DoorFailure) {
        self.init()
        var given: Set<String> = []
        var place = 0
        while let line = try CredentialLine(in: input, from: place) {
            place = line.end
            if !line.key.hasSuffix("[]"), Self.singleKeys.contains(line.key) {
                guard given.insert(line.key).inserted else { throw .malformedInput("\(line.key) is given twice") }
            }
            try take(line, in: input)
        }
    }

    private static let singleKeys: Set = [
        "protocol", "host", "path", "username", "password", "password_expiry_utc", "oauth_refresh_token", "authtype",
        "credential", "ephemeral",
    ]

    private mutating func take(_ line: CredentialLine, in input: borrowing SecretBytes) throws(DoorFailure) {
        switch line.key {
        case "protocol": networkProtocol = try line.name(in: input)
        case "host": host = try line.name(in: input)
        case "path": path = try line.name(in: input)
        case "username": username = try line.name(in: input)
        case "authtype": authtype = try line.name(in: input)
        case "password": password = line.secret(in: input)
        case "oauth_refresh_token": refreshToken = line.secret(in: input)
        case "credential": credential = line.secret(in: input)
        case "password_expiry_utc": expiry = UInt64(try line.name(in: input))
        case "ephemeral": isEphemeral = try line.name(in: input) != "0"
        case "capability[]": capabilities.formUnion(Capabilities(named: (try? line.name(in: input)) ?? ""))
        // An empty one clears those before it. Those of other helpers may have any form.
        case "state[]":
            states = line.value.isEmpty ? [] : states + [try? line.name(in: input)].compactMap(\.self)
        default: break
        }
    }

    // MARK: for git

    /// The lines of an answer. Capabilities come first, as git wants them.
    package func answer() -> SecretBytes {
        var text = SecretText()
        if capabilities.contains(.authtype) { text.append("capability[]=authtype\n") }
        if capabilities.contains(.state) { text.append("capability[]=state\n") }
        Self.append(authtype, "authtype", to: &text)
        Self.append(credential, "credential", to: &text)
        Self.append(username, "username", to: &text)
        Self.append(password, "password", to: &text)
        Self.append(expiry.map(String.init), "password_expiry_utc", to: &text)
        Self.append(refreshToken, "oauth_refresh_token", to: &text)
        for state in states { Self.append(state, "state[]", to: &text) }
        return text.finish()
    }

    private static func append(_ value: String?, _ key: String, to text: inout SecretText) {
        guard let value else { return }
        text.append("\(key)=\(value)\n")
    }

    private static func append(_ secret: Secret?, _ key: String, to text: inout SecretText) {
        guard let secret else { return }
        text.append("\(key)=")
        text.append(secret.bytes)
        text.append("\n")
    }
}

extension GitCredential.Capabilities {
    /// None for a capability that is not known here.
    init(named name: String) {
        switch name {
        case "authtype": self = .authtype
        case "state": self = .state
        default: self = []
        }
    }
}

/// One line of git's form, by its place in the input.
private struct CredentialLine {
    let key: String
    let value: Range<Int>
    /// Where the next line begins.
    let end: Int

    /// The line that begins at `begin`; nil at the end and at an empty line.
    init?(in input: borrowing SecretBytes, from begin: Int) throws(DoorFailure) {
        let found = unsafe input.withUnsafeBytes { bytes -> Found in
            guard begin < bytes.count else { return .end }
            let end = unsafe bytes[begin...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
            guard end > begin else { return .end }
            let line = unsafe bytes[begin..<end]
            guard unsafe !line.contains(0), unsafe !line.contains(UInt8(ascii: "\r")) else { return .forbidden }
            guard let sign = unsafe line.firstIndex(of: UInt8(ascii: "=")), sign > begin else { return .noPair }
            return .line(key: unsafe String(decoding: line[begin..<sign], as: UTF8.self), sign, end)
        }
        switch found {
        case .end: return nil
        case .forbidden: throw .malformedInput("a line holds a NUL or a carriage return")
        case .noPair: throw .malformedInput("a line is no pair of key and value")
        case .line(let key, let sign, let end): (self.key, value, self.end) = (key, sign + 1..<end, end + 1)
        }
    }

    private enum Found {
        case end, forbidden, noPair
        case line(key: String, Int, Int)
    }

    func secret(in input: borrowing SecretBytes) -> Secret {
        Secret(
            unsafe input.withUnsafeBytes { bytes in
                unsafe SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[value]))
            })
    }

    /// A value that is no secret.
    func name(in input: borrowing SecretBytes) throws(DoorFailure) -> String {
        guard value.count <= CredentialLimits.nameByteCount else { throw .malformedInput("\(key) is too long") }
        let text = unsafe input.withUnsafeBytes { bytes in
            unsafe String(validating: Array(bytes[value]), as: UTF8.self)
        }
        guard let text else { throw .malformedInput("\(key) is no UTF-8 text") }
        return text
    }
}

import ArgumentParser
import KeyAlgorithms

/// The names under which an algorithm can be chosen: a short one of this command, the member of Apple's `SecKeyAlgorithm`,
/// and Apple's string.
struct AlgorithmName: Equatable {
    let algorithm: KeyAlgorithm
    /// The short name without its hash, for example `ecdsa-raw`; nil for a string that is only an older spelling of another
    /// algorithm.
    private let stem: String?
    private let hash: HashAlgorithm?
    /// For example `ecdsaSignatureMessageX962SHA256`.
    let memberName: String

    /// For example `ecdsa-raw-sha256`.
    var shortName: String? {
        stem.map { stem in hash.map { "\(stem)-\($0.rawValue.lowercased())" } ?? stem }
    }

    /// Every algorithm that a right's key is used with by this command, sorted by Apple's string.
    static let all: [AlgorithmName] = KeyAlgorithm.all.compactMap(AlgorithmName.init)

    /// `algid:sign:ECDSA:RFC4754`, Apple's first spelling of `digest-RFC4754`.
    private static let deprecatedString = "algid:sign:ECDSA:RFC4754"

    static let signingDefault = "ecdsa-sha256"
    static let encryptionDefault = "ecies-sha256"

    /// The algorithm called `text`, under any of its names.
    ///
    /// - Throws: `ValidationError` with the possible names, when there is no such algorithm or it does not do
    ///   `operation`.
    static func algorithm(named text: String, for operation: KeyOperation) throws -> KeyAlgorithm {
        let candidates = all.filter { $0.algorithm.supports(operation) }
        guard let found = candidates.first(where: { $0.isCalled(text) }) else {
            throw ValidationError("Possible are: \(patterns(for: operation).joined(separator: ", "))")
        }
        return found.algorithm
    }

    static func shortNames(for operation: KeyOperation) -> [String] {
        all.filter { $0.algorithm.supports(operation) }.compactMap(\.shortName)
    }

    /// The short names in few words: `ecdsa-{sha1,sha256}` stands for two of them.
    static func patterns(for operation: KeyOperation) -> [String] {
        let names = all.filter { $0.algorithm.supports(operation) }
        let stems = Set(names.filter { $0.hash != nil }.compactMap(\.stem)).sorted { ($0.count, $0) < ($1.count, $1) }
        let hashed = stems.map { stem in
            let hashes = HashAlgorithm.allCases.filter { hash in names.contains { $0.stem == stem && $0.hash == hash } }
            return "\(stem)-{\(hashes.map { $0.rawValue.lowercased() }.joined(separator: ","))}"
        }
        return hashed + names.filter { $0.hash == nil }.compactMap(\.stem).sorted { $0.count < $1.count }
    }

    /// ``patterns(for:)`` as the indented lines of a help text.
    static func helpLines(for operation: KeyOperation) -> String {
        patterns(for: operation).map { "  " + $0 }.joined(separator: "\n")
    }

    private func isCalled(_ text: String) -> Bool {
        [shortName, memberName, algorithm.rawValue].contains(text)
    }

    private init?(_ algorithm: KeyAlgorithm) {
        self.algorithm = algorithm
        switch algorithm.kind {
        case .signature(let encoding, let input):
            hash = input.hash
            let isDeprecated = algorithm.rawValue == Self.deprecatedString
            stem = isDeprecated ? nil : Self.stem(encoding, input)
            memberName = isDeprecated ? "ecdsaSignatureRFC4754" : Self.memberName(encoding, input)
        case .encryption(let hash, let hasVariableIV, let usesCofactor):
            self.hash = hash
            stem = "ecies" + (usesCofactor ? "-cofactor" : "") + (hasVariableIV ? "" : "-fixed-iv")
            let form = (usesCofactor ? "Cofactor" : "Standard") + (hasVariableIV ? "VariableIV" : "")
            memberName = "eciesEncryption\(form)X963\(hash.rawValue)AESGCM"
        case .keyExchange, .rsaSignature, .rsaEncryption: return nil
        }
    }

    private static func stem(_ encoding: SignatureEncoding, _ input: SignatureInput) -> String {
        let isDigest = if case .digest = input { true } else { false }
        return "ecdsa" + (encoding == .rfc4754 ? "-raw" : "") + (isDigest ? "-digest" : "")
    }

    private static func memberName(_ encoding: SignatureEncoding, _ input: SignatureInput) -> String {
        let form = if case .message = input { "Message" } else { "Digest" }
        let encoding = encoding == .x962 ? "X962" : "RFC4754"
        return "ecdsaSignature\(form)\(encoding)\(input.hash?.rawValue ?? "")"
    }
}

extension SignatureInput {
    /// Nil for a digest of any length.
    var hash: HashAlgorithm? {
        switch self {
        case .message(let hash): hash
        case .digest(let hash): hash
        }
    }
}

/// `--algorithm` of the commands that sign.
struct SigningAlgorithmOption: ParsableArguments {
    @Option(
        help: ArgumentHelp("The algorithm (default: \(AlgorithmName.signingDefault)).", valueName: "name"),
        completion: .list(AlgorithmName.shortNames(for: .sign)),
        transform: { try AlgorithmName.algorithm(named: $0, for: .sign) })
    var algorithm: KeyAlgorithm?

    /// The given algorithm, or the default one.
    var chosen: KeyAlgorithm {
        get throws { try algorithm ?? AlgorithmName.algorithm(named: AlgorithmName.signingDefault, for: .sign) }
    }

    /// The input for signing `file` with the chosen algorithm.
    func input(_ file: InputFile, keepsContent: Bool) throws -> SigningInput {
        try SigningInput(file, for: chosen, keepsContent: keepsContent)
    }
}

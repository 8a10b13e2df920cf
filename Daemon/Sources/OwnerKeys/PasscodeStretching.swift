package import Passcodes
package import SecretMemory

/// How what a person typed becomes a key that is slow to guess. The daemon knows one way, ``argon2id``; tests that enter
/// hundreds of passcodes bring a cheap one.
package struct PasscodeStretching: Sendable {
    package typealias Function =
        @Sendable (
            _ entry: borrowing SecretBytes, _ salt: StretchSalt, _ parameters: StretchParameters
        ) throws -> SecretBytes

    private let function: Function
    /// Bounds how many run at once; nil where they cost next to nothing.
    package let turns: StretchTurns?

    package init(turns: StretchTurns? = nil, _ function: @escaping Function) {
        self.turns = turns
        self.function = function
    }

    /// Argon2id (RFC 9106) with the parameters that stand in the record, as many at once as this machine bears.
    package static let argon2id = PasscodeStretching(turns: .ofThisMachine) { entry, salt, parameters in
        try PasscodeStretcher(parameters: parameters).stretch(entry, salt: salt)
    }

    /// The 32-byte key of `entry`. Blocks for the whole computation, and before that until it is its turn
    /// (``StretchTurns/withTurn(as:_:)``).
    package func stretch(
        _ entry: borrowing SecretBytes, salt: StretchSalt, parameters: StretchParameters, as requester: StretchRequester
    ) throws -> SecretBytes {
        guard let turns else { return try function(entry, salt, parameters) }
        let entry = SecretBytes(copying: entry)
        return try turns.withTurn(as: requester) { try function(entry, salt, parameters) }
    }

    /// The same for callers that have a turn.
    package func stretch(
        _ entry: borrowing SecretBytes, salt: StretchSalt, parameters: StretchParameters, in turn: borrowing StretchTurn
    ) throws -> SecretBytes {
        try function(entry, salt, parameters)
    }
}

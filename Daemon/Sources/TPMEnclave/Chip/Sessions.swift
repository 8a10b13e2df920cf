import CTSS2

/// Two sessions with the chip, both salted to the storage key, so that only the chip with that key shares their secrets.
///
/// One carries authorization values as HMACs. The other encrypts parameters. It belongs to no object: else its key would
/// depend on the object's authorization value, and recorded traffic would let anybody test guesses at that value.
struct Sessions {
    let authorizing: ESYS_TR
    let encrypting: ESYS_TR

    init(in context: TPMContext, saltedTo storageKey: ESYS_TR) throws(ChipFault) {
        authorizing = try Self.start(TPM2_SE_HMAC, in: context, saltedTo: storageKey)
        do {
            encrypting = try Self.start(TPM2_SE_HMAC, in: context, saltedTo: storageKey)
        } catch {
            context.discard(authorizing)
            throw error
        }
    }

    /// Starts a session of this type. A policy session is salted too: nobody else can use it once it is satisfied.
    static func start(
        _ type: TPM2_SE, in context: TPMContext, saltedTo storageKey: ESYS_TR
    ) throws(ChipFault) -> ESYS_TR {
        var session = ESYS_TR()
        var cipher = TPMT_SYM_DEF()
        cipher.algorithm = TPM2_ALG_AES
        cipher.keyBits.aes = 128
        cipher.mode.aes = TPM2_ALG_CFB
        try context.run {
            Esys_StartAuthSession(
                $0, storageKey, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, nil, type, &cipher,
                TPM2_ALG_SHA256, &session)
        }
        do {
            try context.run { Esys_TRSess_SetAttributes($0, session, TPMA_SESSION_CONTINUESESSION, 0xff) }
        } catch {
            context.discard(session)
            throw error
        }
        return session
    }

    /// The parameters of a command that can be encrypted: those with a size in front, at the first place.
    enum Direction {
        case toChip, fromChip, both

        var attributes: TPMA_SESSION {
            switch self {
            case .toChip: TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT
            case .fromChip: TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_ENCRYPT
            case .both: TPMA_SESSION_CONTINUESESSION | TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT
            }
        }
    }

    /// The session of parameters authorizes a second object. Parameters stay in the clear meanwhile, so that no key depends
    /// on that object's value.
    func authorizeTwice(in context: TPMContext) throws(ChipFault) -> (ESYS_TR, ESYS_TR) {
        try context.run { Esys_TRSess_SetAttributes($0, encrypting, TPMA_SESSION_CONTINUESESSION, 0xff) }
        return (authorizing, encrypting)
    }

    func encrypt(_ direction: Direction, in context: TPMContext) throws(ChipFault) {
        try context.run { Esys_TRSess_SetAttributes($0, encrypting, direction.attributes, 0xff) }
    }

    /// Whether the chip still shares the secrets and nonces of both sessions: after a lost answer it may do so of one alone. Then
    /// it would refuse every value in the other one, and count each try at an index. Costs two commands.
    func answer(in context: TPMContext) -> Bool {
        [authorizing, encrypting].allSatisfy { session in
            do {
                try context.run { Esys_TRSess_SetAttributes($0, session, Direction.fromChip.attributes, 0xff) }
                let _: Answer<TPM2B_DIGEST> = try context.answer {
                    Esys_GetRandom($0, session, ESYS_TR_NONE, ESYS_TR_NONE, 1, $1)
                }
                try context.run { Esys_TRSess_SetAttributes($0, session, TPMA_SESSION_CONTINUESESSION, 0xff) }
                return true
            } catch {
                return false
            }
        }
    }

    func discard(in context: TPMContext) {
        context.discard(authorizing)
        context.discard(encrypting)
    }
}

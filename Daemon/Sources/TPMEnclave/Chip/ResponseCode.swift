import CTSS2

/// A response code of the TPM or of a layer of tpm2-tss between it and this program (TPM 2.0 part 2, "TPM_RC").
struct ResponseCode: Error, Equatable {
    let value: UInt32

    init(_ value: UInt32) { self.value = value }

    static let success = ResponseCode(0)

    /// The chip itself answered, directly or through a resource manager that has the chip's codes.
    var isOfChip: Bool { value >> 16 == 0 || value >> 16 == 11 }

    /// The code without layer, and without the number of the handle, parameter or session at fault.
    private var base: Int {
        let code = Int(value & 0xffff)
        return code & 0x80 != 0 ? code & 0xbf : code
    }

    /// "Format one" codes say which handle, parameter or session is at fault.
    private var isFormatOne: Bool { isOfChip && value & 0x80 != 0 }

    /// A parameter's value is at fault.
    var isAboutParameter: Bool { isFormatOne && value & 0x40 != 0 }

    private func `is`(_ constants: Int...) -> Bool { isOfChip && constants.contains(base) }

    /// The chip is busy. The same command works in a moment.
    var asksToRepeat: Bool {
        self.is(OSTIARY_TPM_RC_RETRY, OSTIARY_TPM_RC_YIELDED, OSTIARY_TPM_RC_TESTING, OSTIARY_TPM_RC_NV_RATE)
    }

    /// An authorization value is wrong, or the session that carries it is not the expected one.
    var isWrongAuthorization: Bool { self.is(OSTIARY_TPM_RC_BAD_AUTH, OSTIARY_TPM_RC_AUTH_FAIL) }

    /// The value is not even compared: an index has counted too many wrong ones.
    var isUnavailableAuthorization: Bool { self.is(OSTIARY_TPM_RC_AUTH_UNAVAILABLE) }

    /// The session does not satisfy the object's policy for this command and these parameters.
    var isPolicyFailure: Bool { self.is(OSTIARY_TPM_RC_POLICY_FAIL) }

    var isLockout: Bool { self.is(OSTIARY_TPM_RC_LOCKOUT) }

    /// All slots for objects are taken.
    var isObjectMemory: Bool { self.is(OSTIARY_TPM_RC_OBJECT_MEMORY, OSTIARY_TPM_RC_OBJECT_HANDLES) }

    /// All slots for sessions are taken, or all numbers of sessions, or the chip keeps a saved session for too long.
    var isSessionMemory: Bool {
        self.is(OSTIARY_TPM_RC_SESSION_MEMORY, OSTIARY_TPM_RC_SESSION_HANDLES, OSTIARY_TPM_RC_CONTEXT_GAP)
    }

    /// A handle names nothing: the chip was restarted, or somebody flushed it.
    var isUnknownHandle: Bool {
        if isOfChip, !isFormatOne {
            return (OSTIARY_TPM_RC_REFERENCE_H0...OSTIARY_TPM_RC_REFERENCE_S6).contains(base)
        }
        return self.is(OSTIARY_TPM_RC_HANDLE)
    }

    /// The wrapped private area does not belong to this chip, this parent or this public area.
    var isForeignObject: Bool { isAboutParameter || self.is(OSTIARY_TPM_RC_SENSITIVE) }
}

public import Foundation

/// A command that was recorded (TPM 2.0 part 2, "TPM_CC").
public enum RecordedCommand: Equatable, Sendable {
    case undefineSpace, increment, changeAuth, defineSpace, write, create, read, load, policySecret, sign, policySigned
    case contextLoad, contextSave, unseal, flush, loadExternal, readIndex, policyAuthValue, policyCommandCode, policyOr
    case readPublic, startSession, capability, random
    case other(UInt32)

    /// - Parameter code: four bytes, the most significant first.
    public init(_ code: Data) {
        let number = code.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        self = Self.known[number] ?? .other(number)
    }

    private static let known: [UInt32: RecordedCommand] = [
        0x122: .undefineSpace, 0x12a: .defineSpace, 0x134: .increment, 0x137: .write, 0x13b: .changeAuth, 0x14e: .read,
        0x151: .policySecret, 0x153: .create, 0x157: .load, 0x15d: .sign, 0x15e: .unseal, 0x160: .policySigned,
        0x161: .contextLoad, 0x162: .contextSave, 0x165: .flush, 0x167: .loadExternal, 0x169: .readIndex,
        0x16b: .policyAuthValue, 0x16c: .policyCommandCode, 0x171: .policyOr, 0x173: .readPublic,
        0x176: .startSession, 0x17a: .capability, 0x17b: .random,
    ]
}

import Glibc
public import PromptProtocol
public import SecretBuffers

/// The result of a front end.
public enum Answer: ~Copyable {
    case entered(SecretBytes)
    case reply(PromptReply)
}

/// Tells the daemon how the prompt ended.
public enum ReplyPipe {
    /// Writes the secret first and the reply last: the daemon takes a secret only after the word that it is complete.
    static func send(_ answer: consuming Answer) {
        switch consume answer {
        case .entered(let secret): _ = sendEntered(secret)
        case .reply(let reply):
            send(reply)
        }
    }

    /// Sends a secret, and then the word that it is complete. The caller may go on.
    ///
    /// - Returns: whether the daemon has got it; otherwise it was told that the prompt has ended.
    public static func sendEntered(_ secret: borrowing SecretBytes) -> Bool {
        let header = [UInt8(truncatingIfNeeded: secret.count >> 8), UInt8(truncatingIfNeeded: secret.count)]
        let isWritten =
            unsafe header.withUnsafeBytes { unsafe write($0, to: PromptDescriptor.secret) }
            && secret.withUnsafeBytes { unsafe write($0, to: PromptDescriptor.secret) }
        send(isWritten ? .entered : .ended)
        return isWritten
    }

    /// Tells the daemon that the question is visible.
    public static func sendShown() { send(.shown) }

    /// Tells the daemon for how long the answer is to count.
    ///
    /// - Parameter term: 0 for once, otherwise the place of the term in the question, counted from 1.
    public static func sendChoice(of term: Int) {
        if let word = PromptReply(choosing: term) { send(word) }
    }

    private static func send(_ reply: PromptReply) {
        unsafe withUnsafeBytes(of: reply.rawValue) { _ = unsafe write($0, to: PromptDescriptor.reply) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Bool {
        var rest = unsafe bytes[...]
        while unsafe !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress!, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            unsafe rest = unsafe rest.dropFirst(count)
        }
        return true
    }
}

import Glibc
public import PromptProtocol
public import SecretMemory

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
        case .entered(let secret):
            let isWritten = unsafe secret.withUnsafeBytes { unsafe write($0, to: PromptDescriptor.secret) }
            send(isWritten ? .entered : .ended)
        case .reply(let reply):
            send(reply)
        }
    }

    /// Tells the daemon that the question is visible.
    public static func sendShown() { send(.shown) }

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

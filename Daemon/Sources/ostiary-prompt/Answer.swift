import Glibc
import PromptProtocol
import SecretMemory

/// What a front end brings back.
enum Answer: ~Copyable {
    case entered(SecretBytes)
    case reply(PromptReply)
}

/// Tells the daemon how the prompt ended.
enum Reply {
    /// Writes the secret first and the reply last: the daemon takes a secret only after the word that it is complete.
    static func send(_ answer: consuming Answer) {
        switch consume answer {
        case .entered(let secret):
            let isWritten = secret.withUnsafeBytes { write($0, to: PromptDescriptor.secret) }
            send(isWritten ? .entered : .ended)
        case .reply(let reply):
            send(reply)
        }
    }

    private static func send(_ reply: PromptReply) {
        withUnsafeBytes(of: reply.rawValue) { _ = write($0, to: PromptDescriptor.reply) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress!, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

import CPAM
import Glibc
import PAMProtocol
import PromptProtocol

/// What modules may say to the person: texts. Whatever asks for an answer ends the attempt, and with it the process, so that
/// no module goes on after it.
enum Conversation {
    /// libpam's callback (pam_conv(3)).
    static let respond:
        @convention(c) (
            CInt, UnsafeMutablePointer<UnsafePointer<pam_message>?>?,
            UnsafeMutablePointer<UnsafeMutablePointer<pam_response>?>?,
            UnsafeMutableRawPointer?
        ) -> CInt = { count, messages, responses, _ in
            guard let messages, let responses, (1...PAM_MAX_NUM_MSG).contains(count) else { return PAM_CONV_ERR }
            for message in UnsafeBufferPointer(start: messages, count: Int(count)) {
                guard let message else { return PAM_CONV_ERR }
                Conversation.take(message.pointee)
            }
            // The module frees one empty response for each message.
            let empty = calloc(Int(count), MemoryLayout<pam_response>.stride)
            responses.pointee = empty?.assumingMemoryBound(to: pam_response.self)
            return empty == nil ? PAM_BUF_ERR : PAM_SUCCESS
        }

    private static func take(_ message: pam_message) {
        switch message.msg_style {
        case PAM_TEXT_INFO: DaemonChannel().send(.info(text(of: message)))
        case PAM_ERROR_MSG: DaemonChannel().send(.error(text(of: message)))
        default: DaemonChannel().end(.asked)
        }
    }

    /// The text that a module means, at most so many bytes of it.
    private static let byteCount = 8 * PAMReport.maximumByteCount

    private static func text(of message: pam_message) -> DisplayText {
        guard let start = message.msg else { return DisplayText("") }
        let bytes = UnsafeRawBufferPointer(start: start, count: strnlen(start, byteCount))
        return DisplayText(String(decoding: bytes, as: UTF8.self))
    }
}

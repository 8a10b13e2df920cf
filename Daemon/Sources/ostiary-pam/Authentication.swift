import CPAM
import Glibc
import PAMProtocol

/// One attempt with libpam (pam(3)).
struct Authentication {
    private let request: PAMRequest
    /// The account that sent the request.
    private let senderUserID: UInt32
    /// Whether the service manager has started this process.
    private let isActivated: Bool

    init(_ request: PAMRequest, from senderUserID: UInt32, isActivated: Bool) {
        (self.request, self.senderUserID, self.isActivated) = (request, senderUserID, isActivated)
    }

    /// Blocks until the module has decided.
    func run() -> PAMResult {
        guard request.mayCome(from: senderUserID, to: geteuid()) else { return .badRequest }
        guard
            let file = try? PAMServiceFile(
                of: request.service, in: request.folder, trustedUserID: request.trustedUserID)
        else { return .serviceRefused }
        guard let own = Self.userName() else { return .userUnknown }
        let user = request.user ?? own
        guard request.mayName(to: own, isRoot: geteuid() == 0, isActivated: isActivated) else { return .otherUser }
        var conversation = pam_conv(conv: Conversation.respond, appdata_ptr: nil)
        var handle: OpaquePointer?
        // With a folder of its own, libpam reads the file that was checked, and never /etc/pam.conf.
        let start = pam_start_confdir(file.service, user, &conversation, request.folder, &handle)
        guard start == PAM_SUCCESS, let handle else { return Self.result(of: start == PAM_SUCCESS ? PAM_ABORT : start) }
        let code = pam_authenticate(handle, CInt(PAM_DISALLOW_NULL_AUTHTOK))
        // A module may have put another user in this one's place.
        let isSameUser = Self.user(of: handle) == user
        pam_end(handle, code)
        return isSameUser ? Self.result(of: code) : .unavailable
    }

    private static func userName() -> String? {
        guard let entry = getpwuid(getuid()), let name = entry.pointee.pw_name else { return nil }
        let text = String(cString: name)
        return text.isEmpty ? nil : text
    }

    private static func user(of handle: OpaquePointer) -> String? {
        var item: UnsafeRawPointer?
        guard pam_get_item(handle, PAM_USER, &item) == PAM_SUCCESS, let item else { return nil }
        return String(cString: item.assumingMemoryBound(to: CChar.self))
    }

    private static func result(of code: CInt) -> PAMResult {
        switch code {
        case PAM_SUCCESS: .recognized
        case PAM_AUTH_ERR, PAM_MAXTRIES, PAM_PERM_DENIED: .notRecognized
        case PAM_USER_UNKNOWN: .userUnknown
        case PAM_MODULE_UNKNOWN, PAM_OPEN_ERR, PAM_SYMBOL_ERR: .moduleUnusable
        default: .unavailable
        }
    }
}

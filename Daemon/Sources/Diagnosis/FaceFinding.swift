import Authenticators
import HelperProcesses
import Opening
import OstiaryMessages
import Owners
import PAMBiometry
import PAMProtocol
import Settings

/// What the doctor finds about looking for faces.
extension Examination {
    func faceFinding() -> WireFinding {
        guard let face = account.biometry?.face else {
            return .ok("face", "No face is looked for: ostiaryd.conf has no face.pam-service.")
        }
        do throws(PAMFailure) {
            let file = try face.file()
            return .ok("face", "The PAM service \(face.name) (\(file.module)) looks for your face \(placesForFaces).")
        } catch .service(let distrust) {
            return .problem(
                "face", "The PAM service \(face.name) is not used: \(distrust).",
                advice: "As root, write one line into /etc/pam.d/\(face.name): auth required MODULE. Only root may be "
                    + "able to change the file and the folders above it.")
        } catch {
            return missingHelper
        }
    }

    private var missingHelper: WireFinding {
        switch configuration.helpers.face {
        case .spawned(let program):
            .problem(
                "face", "\(program) cannot be started, so no face is looked for.",
                advice: "Install ostiary-pam beside ostiaryd.")
        case .activated(let socket):
            .problem(
                "face", "No program answers at \(socket.path), so no face is looked for.",
                advice: "Run `sudo systemctl enable --now ostiary-pam.socket`.")
        }
    }

    private var placesForFaces: String {
        switch configuration.prompts.facePolicy {
        case .never: "beside questions in the sheet, and on no terminal (face.on-terminals)"
        case .login: "beside questions in the sheet and on terminals with a login entry (face.on-terminals)"
        case .any: "beside questions in the sheet and on terminals"
        }
    }
}

import AssociationFiles
import ExactNames
import Foundation
import Glibc
import Settings

/// The administrator's files in place of domains, for machines that reach no network: one folder with a file
/// `DOMAIN.json` for each domain, of the form of the domain's own file.
///
/// Folder and files must belong to root, and nobody else may write to them. A file that exists and does not count is a no; it
/// never counts as absent.
struct AdministratorAssociations: Sendable {
    let folder: String
    /// The user to whom folder and files must belong; root, except in tests.
    let trustedUserID: UInt32

    /// nil when there is no file for the domain.
    func verdict(on relyingParty: RelyingPartyIdentifier, for applicationID: ExactName) -> AssociationVerdict? {
        var status = stat()
        guard unsafe lstat(folder, &status) == 0 else { return errno == ENOENT ? nil : .unreadableFile }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == trustedUserID,
            status.st_mode & (S_IWGRP | S_IWOTH) == 0
        else {
            return .unreadableFile
        }
        let path = "\(folder)/\(relyingParty.domain).json"
        guard unsafe lstat(path, &status) == 0 else { return errno == ENOENT ? nil : .unreadableFile }
        guard status.st_uid == trustedUserID else { return .unreadableFile }
        // A link could lead to a file that says something about another domain.
        guard status.st_mode & S_IFMT == S_IFREG else { return .unreadableFile }
        guard let text = try? ConfigurationFile.text(path, userID: trustedUserID),
            let file = try? AssociationFile(Data(text.utf8))
        else { return .unreadableFile }
        return file.lists(applicationID) ? .associated : .notListed
    }
}

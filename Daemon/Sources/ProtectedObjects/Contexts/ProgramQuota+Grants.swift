package import Authenticators
import OstiaryMessages
import Refusals

extension ProgramQuota {
    /// Bounds what contexts remember of grants: opened rights and keys, requirements, objects under leases, the counts of uses,
    /// and grants that the owner revoked. All of it stays for as long as the program keeps the context, and a program may have
    /// many contexts.
    package static func grants(_ limits: ShareLimits) -> ProgramQuota {
        ProgramQuota(
            limits,
            refusing: ShareRefusals(
                program: { count in
                    Refusal(
                        .tooMany,
                        "This program holds \(count) authorizations already, and no more are allowed; release contexts that it "
                            + "does not need.", cause: "grant.too-many")
                },
                owner: { count in
                    Refusal(
                        .tooMany,
                        "This user's programs hold \(count) authorizations already, and no more are allowed; release contexts "
                            + "that are not needed.", cause: "grant.too-many-of-owner")
                },
                total: Refusal(
                    .tooMany, "All programs together hold too many authorizations; try again later.",
                    cause: "grant.too-many-in-all")))
    }
}

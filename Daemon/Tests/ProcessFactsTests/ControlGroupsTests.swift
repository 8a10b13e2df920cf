import ProcessFacts
import Testing

@Suite("Control groups")
struct ControlGroupsTests {
    @Test(
        arguments: [
            "0::/system.slice/backup.service\n", "0::/system.slice/backup.service/of/its/own\n",
            "0::/system.slice/system-getty.slice/getty@tty1.service\n",
            "12:cpu:/whatever\n1:name=systemd:/system.slice/a.service\n0::/system.slice/a.service\n",
        ])
    func `a service of the machine is known by its group`(text: String) {
        #expect(ControlGroups.areOfSystemUnit(text))
    }

    @Test(
        arguments: [
            "", "0::/\n", "0::/user.slice/user-1000.slice/session-2.scope\n",
            "0::/user.slice/user-1000.slice/user@1000.service/system.slice/a.service\n",
            "0::/system.slice/user@1000.service/a.service\n", "0::/system.slice\n", "0::/system.slice/a.scope\n",
            "0::/system.slicex/a.service\n", "3:cpu:/system.slice/a.service\n",
            "1:name=systemd:/system.slice/a.service\n0::/user.slice/a.service\n", "/system.slice/a.service\n",
        ])
    func `every other group is none`(text: String) {
        #expect(!ControlGroups.areOfSystemUnit(text))
    }

    @Test(arguments: ["gdm", "gdm3", "greetd", "lightdm", "sddm"])
    func `a display manager is known by its service`(name: String) {
        #expect(ControlGroups.areOfDisplayManager("0::/system.slice/\(name).service\n"))
        #expect(
            ControlGroups.areOfDisplayManager(
                "4:cpu:/x\n1:name=systemd:/system.slice/\(name).service\n0::/system.slice/\(name).service\n"))
    }

    @Test(
        arguments: [
            "", "0::/\n", "0::/gdm.service\n", "0::/system.slice/ssh.service\n", "0::/system.slice/xgdm.service\n",
            "0::/system.slice/gdm.servicex\n", "0::/system.slice/gdm.service/of/its/own\n",
            "0::/system.slice/a.service/system.slice/gdm.service\n", "0::/system.slice/gdm.scope\n",
            "0::/user.slice/user-1000.slice/user@1000.service/gdm.service\n", "3:cpu:/system.slice/gdm.service\n",
            "0::/user.slice/user-1000.slice/session-2.scope\n",
            "1:name=systemd:/system.slice/gdm.service\n0::/user.slice/a.service\n",
        ])
    func `no other group is a display manager's`(text: String) {
        #expect(!ControlGroups.areOfDisplayManager(text))
    }

    @Test(
        arguments: [
            ("0::/user.slice/user-1000.slice/session-2.scope\n", 1000),
            ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/user-7.slice\n", 1000),
            ("4:cpu:/user.slice/user-7.slice\n1:name=systemd:/user.slice/user-9.slice/a.scope\n", 9),
            ("0::/system.slice/ssh.service\n", nil), ("0::/user.slice\n", nil), ("0::/\n", nil), ("", nil),
            ("0::/user.slice/user-x.slice/a\n", nil), ("0::/system.slice/user.slice/user-1000.slice\n", nil),
        ] as [(String, UInt32?)])
    func `a user's slice says who runs a program`(text: String, userID: UInt32?) {
        #expect(ControlGroups.user(in: text) == userID)
    }
}

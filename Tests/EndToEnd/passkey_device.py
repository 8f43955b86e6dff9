"""The virtual authenticator of Chromium: a device that keeps passkeys, and answers without a prompt."""


class DeviceCase:
    """Tests with a `browser` whose device may keep passkeys."""

    def enable_device(self):
        self.cdp("WebAuthn.enable")
        self.device = self.new_device()

    def cdp(self, command, **parameters):
        return self.browser.driver.execute_cdp_cmd(command, parameters)

    def new_device(self, **options):
        """Adds an authenticator of the browser's own device."""
        return self.cdp("WebAuthn.addVirtualAuthenticator", options={
            "protocol": "ctap2", "transport": "internal", "hasResidentKey": True,
            "hasUserVerification": True, "isUserVerified": True,
            "automaticPresenceSimulation": True, **options})["authenticatorId"]

    def credentials(self):
        return self.cdp("WebAuthn.getCredentials", authenticatorId=self.device)["credentials"]

    def lock(self, is_locked):
        """Lets the device refuse its user, as after a cancelled prompt."""
        self.cdp("WebAuthn.setUserVerified", authenticatorId=self.device,
                 isUserVerified=not is_locked)

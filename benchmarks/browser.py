"""A headless Chromium by Selenium, for tests of pages and pictures of them."""

import shutil
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
DRIVER = shutil.which("chromedriver")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
)


class Browser:
    """A browser, as a context; driver: Selenium's."""

    def __init__(self, *, script=True):
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in QUIET:
            options.add_argument(flag)
        if not script:
            blocked = {"profile.managed_default_content_settings.javascript": 2}
            options.add_experimental_option("prefs", blocked)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, address):
        """Open a page, also where only its fragment changes, and wait for its answers."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.settle()

    def find(self, selector):
        """Return the elements of a selector of CSS."""
        return self.driver.find_elements("css selector", selector)

    def type(self, selector, text):
        """Replace what a field holds, and wait for the answers."""
        from selenium.webdriver.common.keys import Keys

        (field,) = self.find(selector)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text or Keys.DELETE)
        self.settle()

    def follow(self, element, selector):
        """Click what loads another page, and wait for that and for a selector in it."""
        from selenium.webdriver.support.expected_conditions import staleness_of

        element.click()
        self.wait(lambda: staleness_of(element)(self.driver))
        self.wait(lambda: self.find(selector))

    def settle(self):
        """Wait until no part of the page is awaited."""
        time.sleep(0.05)  # an event of the address follows later than its change
        self.wait(lambda: not self.find("[aria-busy]"))

    def wait(self, holds, seconds=60.0):
        """Wait until something holds.

        Raises:
            TimeoutError: it does not.
        """
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError("the page is still busy")
            time.sleep(0.02)

    def resize(self, width, height=900):
        """Show the page as a screen of this size does."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def picture(self, path, width):
        """Write a picture of the whole page."""
        self.resize(width)
        height = self.driver.execute_script("return document.documentElement.scrollHeight")
        self.resize(width, height)
        self.driver.save_screenshot(str(path))

    def complaints(self):
        """Return what the browser found wrong, but for statuses of answers."""
        log = self.driver.get_log("browser")
        return [line["message"] for line in log if "status of 422" not in line["message"]]

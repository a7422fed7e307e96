import { connectCopyButtons } from "./copy.js";
import { connectExamples } from "./example.js";
import { followFormerAnchors } from "./former-anchors.js";
import { connectKeyBar } from "./key/key-bar.js";
import { connectLanguages } from "./languages.js";
import { connectNavigation } from "./navigation.js";
import { connectOperations } from "./operation.js";
import { showOwnAddress } from "./own-address.js";
import { connectSearch } from "./search.js";

const { baseUrl, ownOrigin } = document.body.dataset;

followFormerAnchors();
showOwnAddress(ownOrigin);
connectLanguages();
connectCopyButtons();
connectExamples();
connectNavigation();
connectSearch();

// Behind a proxy, the browser uses another origin than the server's own.
const api = connectKeyBar(ownOrigin === undefined ? baseUrl : baseUrl.replace(ownOrigin, location.origin));
connectOperations(api);

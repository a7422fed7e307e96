import { answerBody } from "./answer-body.js";
import { describeAnswer } from "./answer-notice.js";
import { writeSentRequest } from "./sent-request.js";

/** Swagger UI takes headers apart at every comma, that of a date included. */
function wholeHeaders(headers) {
  return headers?.map((value) => (typeof value === "string" ? value : value.join(", ")));
}

/** How answers are shown: JSON with all of its digits, and failures with what to do about them. */
export function answerPlugin({ React }) {
  const h = React.createElement;
  const AnswerBody = answerBody(React);

  function Notice({ notice }) {
    const facts = notice.facts.flatMap(([name, value]) => [
      h("dt", { key: name }, name),
      h("dd", { key: value }, value),
    ]);
    return h(
      "div",
      { className: "notice", role: "status" },
      h("strong", null, notice.title),
      h("p", null, notice.text),
      facts.length > 0 && h("dl", null, facts),
      notice.waitSeconds !== undefined && h("p", null, "Time left: ", h("count-down", { seconds: notice.waitSeconds })),
      h("a", { href: notice.href }, notice.linkText),
    );
  }

  return {
    wrapComponents: {
      liveResponse: (LiveResponse) => (props) => {
        const response = props.response.update("headers", wholeHeaders);
        const notice = describeAnswer(response.toJS());
        return h(
          React.Fragment,
          null,
          notice && h(Notice, { notice, key: response.get("text") }),
          h(LiveResponse, { ...props, response }),
        );
      },
      curl:
        () =>
        ({ request }) =>
          h(
            "details",
            { className: "sent" },
            h("summary", null, "The request, for curl"),
            h("pre", { tabIndex: 0 }, writeSentRequest(request.toJS())),
          ),
      responseBody: (ResponseBody) => (props) => {
        if (typeof props.content !== "string" || !/json/.test(props.contentType)) {
          return h(ResponseBody, props);
        }
        return h(AnswerBody, { text: props.content });
      },
      // What each failure is stands in the chapter on errors; here one line each is enough.
      response: (Response) => (props) => {
        if (Number(props.code) < 400) {
          return h(Response, props);
        }
        const Markdown = props.getComponent("Markdown", true);
        return h(
          "tr",
          { className: "response failure" },
          h("td", { className: "response-col_status" }, props.code),
          h("td", null, h(Markdown, { source: props.response.get("description") })),
        );
      },
      headers: (Headers) => (props) =>
        h("details", { className: "headers" }, h("summary", null, `${props.headers.size} headers`), h(Headers, props)),
    },
  };
}

// An OpenID provider on loopback for tests: anyone may sign in under any name, and the name tells the roles.
import Provider from "oidc-provider";

const [port, redirect] = process.argv.slice(2);
const roles = { ann: ["loans-team"], bob: ["auditors", "unknown"], eve: ["nobody"], kim: ["reviewers"] };
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "desk",
      client_secret: "a-secret-of-the-tests",
      redirect_uris: [redirect],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  pkce: { required: () => true },
  conformIdTokenClaims: false,
  claims: { openid: ["sub"], profile: ["groups"] },
  features: { devInteractions: { enabled: true } },
  findAccount: (ctx, id) => ({
    accountId: id,
    claims: () => ({ sub: id, groups: roles[id] ?? [] }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
